import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { useFolder } from '../support/folder.js';
import { runHere, type Ran } from '../support/command-line.js';
import { aPerson, give } from '../support/people.js';
import { useService } from '../support/running-service.js';

const running = useService();
const folder = useFolder();

/** A machine with the files alone. */
const elsewhere = () => ({
  ...running.stores,
  databaseUrl: 'postgres://127.0.0.1:1/none',
  masterKeyFile: join(folder, 'none'),
});

test('an export with its chain is verified without the log, and shows where it was changed', async () => {
  const tenant = await running.service.createTenant();
  const { at } = await aPerson(tenant.live);
  await give(tenant.live, { at }, { assignedCredit: 500 });
  const signed = await runHere(running.stores, ['ledger', 'digest', tenant.alias, '--sign']);
  const digest = JSON.parse(signed.out) as { readonly digest: string };
  await give(tenant.live, { at }, { assignedCredit: 7 });
  const key = join(folder, 'digest.json');
  await writeFile(key, signed.out);
  const { out } = await runHere(running.stores, ['ledger', 'export', tenant.alias, '--chain']);
  const verified = async (text: string): Promise<Ran> => {
    const path = join(folder, 'export.jsonl');
    await writeFile(path, text);
    const words = ['ledger', 'verify', '--export', path, '--public-key', key, '--json'];
    return runHere(elsewhere(), words);
  };
  const intact = await verified(out);
  expect(intact).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(intact.out)).toMatchObject({
    ok: true,
    tenant: tenant.alias,
    mode: 'live',
    firstBroken: null,
  });
  expect(out).toContain(digest.digest);

  const lines = out.trimEnd().split('\n');
  const granted = lines.findIndex((line) => line.includes('"RewardGranted"'));
  const event = JSON.parse(lines[granted] ?? '') as { eventId: string; position: string };
  const { eventId, position } = event;
  const changed = [
    [lines.with(granted, (lines[granted] ?? '').replaceAll('500', '900')), { eventId, position }],
    [lines.toSpliced(granted, 1), { reason: 'changed' }],
    [lines.slice(0, -1), { reason: 'removed' }],
    [[...lines, lines[granted]], { reason: 'inserted' }],
  ] as const;
  for (const [text, firstBroken] of changed) {
    const broken = await verified(`${text.join('\n')}\n`);
    expect([broken.code, JSON.parse(broken.out)]).toMatchObject([3, { ok: false, firstBroken }]);
  }
  // Another key.
  await writeFile(key, 'MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=');
  expect((await verified(out)).code).toBe(3);
  expect((await verified('{}\n')).code).toBe(1);
});
