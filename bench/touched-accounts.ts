import { LedgerClient } from './ledger-client.js';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  residentMb,
  startServiceProcess,
  type ServiceProcess,
} from './service-process.js';

/**
 * Resident memory of the service while more accounts are written than it may remember, each with a
 * user of a hundred custom fields, 64 at a time. Fails (exit 1) when a write is not accepted.
 * `BENCH_ACCOUNTS` (100 000); `REMEMBERED_STREAMS_MB` (512) is the service's own.
 */
const ACCOUNTS = Number(process.env.BENCH_ACCOUNTS ?? 100_000);
const REMEMBERED_MB = process.env.REMEMBERED_STREAMS_MB ?? '512';
const AT_ONCE = 64;
const FIELDS = 100;
const SAID = 10;

const fieldsOf = (account: number): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Array.from({ length: FIELDS }, (_, n) => [`field${n}`, `${account * FIELDS + n}`.padStart(20)]),
  );

async function write(client: LedgerClient, account: number): Promise<void> {
  const id = `touched-${account}`;
  const user = { id, accountId: id, customFields: fieldsOf(account) };
  for (const { status, body } of [
    await client.post('accountsync', { id, subscription: { status: 'TRIAL' } }),
    await client.post('user', user),
  ])
    if (status !== 200) throw new Error(`account ${account}: ${status} ${JSON.stringify(body)}`);
}

async function measure(service: ServiceProcess): Promise<void> {
  const pid = await service.pid();
  const client = new LedgerClient({ url: service.url, apiKey: printedKey(service.output()) });
  try {
    console.log(`${REMEMBERED_MB} MB may be remembered; ${(await residentMb(pid)).toFixed(0)} MB`);
    const beganAt = performance.now();
    for (let part = 0; part < SAID; part++) {
      let next = Math.round((part * ACCOUNTS) / SAID);
      const end = Math.round(((part + 1) * ACCOUNTS) / SAID);
      const writeOn = async (): Promise<void> => {
        while (next < end) await write(client, next++);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, writeOn));
      const rate = end / ((performance.now() - beganAt) / 1_000);
      const resident = await residentMb(pid);
      console.log(`${end} accounts, ${resident.toFixed(0)} MB resident, ${rate.toFixed(0)}/s`);
    }
  } finally {
    client.close();
  }
}

const dataDir = await makeDataDir();
const service = await startServiceProcess({
  env: { DATA_DIR: dataDir, REMEMBERED_STREAMS_MB: REMEMBERED_MB },
});
try {
  await service.ready();
  await measure(service);
  await service.terminate();
} finally {
  await service.kill();
  await removeDataDir(dataDir);
}
