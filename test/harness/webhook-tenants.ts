import { type Core } from '../../src/stores/core.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { LedgerClient, type Answer } from './ledger-client.js';
import type { ServiceProcess } from './service-process.js';
import { openCoreOn } from './open-core-on.js';

export interface Tenant {
  readonly alias: string;
  readonly key: string;
}

const CREDIT = 1_000_000;

/** Opens the stores of a data folder next to the services that run on it. */
export async function withCore<T>(dataDir: string, work: (core: Core) => Promise<T>): Promise<T> {
  const core = await openCoreOn({ DATA_DIR: dataDir });
  try {
    return await work(core);
  } finally {
    await core.close();
  }
}

export async function makeTenant(
  core: Core,
  alias: string,
  openEndpoints = false,
): Promise<Tenant> {
  const created = await core.tenantCommands.create({
    alias,
    programType: 'API_ONLY',
    openEndpoints,
    program: DEFAULT_PROGRAM,
  });
  if ('refused' in created) throw new Error(created.refused);
  return { alias, key: created.liveApiKey };
}

export const clientOf = ({ url }: ServiceProcess, { alias, key }: Tenant): LedgerClient =>
  new LedgerClient({ url, apiKey: key, tenant: alias });

/** Answered, and not with success. */
export class NotAccepted extends Error {
  override readonly name = 'NotAccepted';
}

/** @returns the body. @throws {NotAccepted} {NoAnswer} */
export async function must(sent: Promise<Answer>): Promise<unknown> {
  const { status, body } = await sent;
  if (status >= 300) throw new NotAccepted(`answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

export async function makeUser(client: LedgerClient, id: string): Promise<void> {
  await must(client.post('accountsync', { id, subscription: { status: 'TRIAL' } }));
  await must(client.post('user', { id, accountId: id }));
}

/** Credit for the user of an account. @returns the id of the reward. */
export async function grant(
  client: LedgerClient,
  id: string,
  assignedCredit: number,
): Promise<string> {
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit };
  const made = await must(client.post(`rewards/account/${id}/user/${id}`, reward));
  return (made as { readonly id: string }).id;
}

/** An account with a user and much credit. @returns the id of its reward. */
export async function makeAccount(client: LedgerClient, id: string): Promise<string> {
  await makeUser(client, id);
  return grant(client, id, CREDIT);
}
