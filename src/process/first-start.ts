import { writeFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { TenantSecrets } from '../command-handling/tenant-commands.js';
import type { Config } from '../config/config.js';
import { newOperatorKey } from '../config/operators.js';
import type { Core } from '../stores/core.js';
import { DEFAULT_PROGRAM } from '../domain/tenant/program-document.js';
import { errorCode, hasCode } from '../foundation/error-code.js';
import type { Listening } from './service-options.js';

const ALIAS = 'demo';
const ADMIN = 'admin';

/**
 * With the embedded Postgres, the first start creates a demo tenant, and the first operator if the
 * default operators file is missing. Their keys are shown only here.
 * @returns the text for the terminal; undefined: nothing to show.
 */
export async function firstStartText(
  core: Core,
  config: Config,
  listening: Listening,
  logger: Logger,
): Promise<string | undefined> {
  if (config.databaseUrl !== undefined)
    return (await hasTenants(core)) ? undefined : withoutTenants(listening);
  const keys = await makeDemoTenant(core);
  if (keys === undefined) return undefined;
  return textOf(keys, await makeFirstOperator(config, logger), listening);
}

async function hasTenants({ streams, names }: Core): Promise<boolean> {
  const { state } = await streams.tenantRegister.load(names.tenantRegisterStream());
  return state.aliases.length > 0;
}

/** Undefined: the tenant already exists. */
async function makeDemoTenant({
  tenants,
  tenantCommands,
}: Core): Promise<TenantSecrets | undefined> {
  if (await tenants.read(ALIAS)) return undefined;
  const made = await tenantCommands.create({
    alias: ALIAS,
    programType: 'API_ONLY',
    openEndpoints: false,
    program: DEFAULT_PROGRAM,
  });
  return 'refused' in made ? undefined : made;
}

/**
 * Writes the default operators file. @returns the key; undefined: OPERATORS_FILE names another
 * file, the file exists, or writing failed, which is logged.
 */
async function makeFirstOperator(
  { operatorsFile }: Config,
  logger: Logger,
): Promise<string | undefined> {
  if (operatorsFile === undefined || !operatorsFile.mayBeMissing) return undefined;
  const { key, entry } = newOperatorKey(ADMIN, ['finance', 'support']);
  try {
    await writeFile(operatorsFile.path, `${JSON.stringify([entry], undefined, 2)}\n`, {
      flag: 'wx',
      mode: 0o600,
    });
    return key;
  } catch (error) {
    if (!hasCode(error, 'EEXIST'))
      logger.warn({ reason: errorCode(error) }, 'the first operator was not made');
    return undefined;
  }
}

const withoutTenants = (listening: Listening): string => `
There is no tenant yet. Create one and get its keys:
  npm run --silent cli -- tenant create acme
In the container image: ledger-service tenant create acme

First steps:
${addresses(listening, WITH_KEY)}`;

const WITH_KEY = 'with the key of an operator';

const addresses = ({ url, operationsUrl = url }: Listening, signIn: string): string =>
  `  API reference  ${url}/docs
  Console        ${operationsUrl}/console (sign in ${signIn})
  Guides         README.md, docs/README.md

`;

function textOf(keys: TenantSecrets, adminKey: string | undefined, listening: Listening): string {
  const signIn = adminKey === undefined ? WITH_KEY : `as ${ADMIN}`;
  const admin = adminKey === undefined ? '' : `\n  console key of ${ADMIN} ${adminKey}`;
  return `
The tenant ${ALIAS} is ready. Its keys are shown only this once:
  live API key         ${keys.liveApiKey}
  test API key         ${keys.testApiKey}
  live signing secret  ${keys.liveSigningSecret}
  test signing secret  ${keys.testSigningSecret}${admin}

First steps:
  Record an account (README.md continues to a referral and its reward):
    curl -u :${keys.testApiKey} -H 'content-type: application/json' ${listening.url}/api/v1/${ALIAS}/accountsync -d '{"id":"acme","subscription":{"status":"TRIAL"}}'
${addresses(listening, signIn)}`;
}
