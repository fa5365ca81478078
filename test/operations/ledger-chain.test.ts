// Over 5 s: commands on a service of its own, which each open the stores.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createPublicKey, verify } from 'node:crypto';
import { digestOf } from '../../src/foundation/canonical-json.js';
import { digestText, type DigestDocument } from '../../src/chain/digest-document.js';
import type { Verification } from '../../src/operations/ledger/ledger-verification.js';
import { useFolder } from '../support/folder.js';
import { eventually } from '../support/embedded.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { runHere, type Ran } from '../support/command-line.js';
import { personal, useService, useTenant } from '../support/running-service.js';
import { verifyLedger } from '../support/operations.js';
import { aPerson, give } from '../support/people.js';

const running = useService();
const tenant = useTenant(running);
const folder = useFolder();

const cli = (...words: readonly string[]): Promise<Ran> => runHere(running.stores, words);

const file = async (name: string, content: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
};

const verified = (outside?: DigestDocument): Promise<Verification> =>
  verifyLedger(running.service.service.core, {
    scope: { tenant: tenant.alias, mode: 'live' },
    outside,
    signal: new AbortController().signal,
    awayMsMax: 10_000,
  });

test('the service seals automatically, and reports it', async () => {
  await tenant.live.post('/accountsync', { id: personal(), subscription: { status: 'TRIAL' } });
  const head = await running.service.head();
  await eventually(async () => {
    const health = (await (await fetch(`${running.service.origin}/health/ready`)).json()) as {
      checks: Record<string, unknown>;
    };
    expect(health.checks['chain']).toMatchObject({
      ok: true,
      role: 'leader',
      position: head,
      lagEvents: 0,
    });
    return true;
  });
  expect(await (await fetch(`${running.service.origin}/metrics`)).text()).toMatch(
    /^ledger_chain_lag_events 0$/m,
  );
});

test('a kept digest stays valid after an erasure, and not after a changed byte', async () => {
  const [account, user] = [personal(), personal()];
  await tenant.live.post('/accountsync', { id: account, subscription: { status: 'TRIAL' } });
  await tenant.live.post('/user', { id: user, accountId: account, firstName: personal() });
  const head = await running.service.head();
  const digest = await cli('ledger', 'digest', tenant.alias, '--sign', '--by', 'Ada Staff');
  expect(digest).toMatchObject({ code: 0, err: expect.stringMatching(/^sealing: \d+/) });
  const document = JSON.parse(digest.out) as Required<DigestDocument>;
  expect(Object.keys(document)).toEqual([
    'tenant',
    'mode',
    'log',
    'position',
    'events',
    'digest',
    'places',
    'signature',
    'publicKey',
  ]);
  expect(document).toMatchObject({ tenant: tenant.alias, mode: 'live', position: head });
  const publicKey = createPublicKey({
    key: Buffer.from(document.publicKey, 'base64'),
    format: 'der',
    type: 'spki',
  });
  expect(
    verify(
      null,
      Buffer.from(digestText(document)),
      publicKey,
      Buffer.from(document.signature, 'base64'),
    ),
  ).toBe(true);

  expect((await tenant.live.call('DELETE', `/open/account/${account}`)).status).toBe(204);
  const path = await file('kept.json', digest.out);
  expect(await verified(document)).toEqual({
    ok: true,
    tenant: tenant.alias,
    mode: 'live',
    log: document.log,
    events: expect.any(Number),
    position: await running.service.head(),
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    seals: expect.any(Number),
    firstBroken: null,
  });

  const { pool } = running.service.service.core;
  const position = document.position.split('-')[1];
  await pool.query(
    `update ledger.events set data = overlay(data placing '!' from 5 for 1) where position = $1`,
    [position],
  );
  const broken = await cli(
    'ledger',
    'verify',
    tenant.alias,
    '--digest',
    path,
    '--by',
    'Ada Staff',
    '--json',
  );
  expect(broken.code).toBe(3);
  expect(JSON.parse(broken.out)).toMatchObject({
    ok: false,
    firstBroken: { position: document.position, reason: 'changed' },
  });
  expect(broken.err.trim().split('\n').at(-1)).toMatch(
    /^the chain is broken at position [0-9a-f]{8}-\d+: the event .+ differs from what was sealed$/,
  );
  expect(await verified()).toMatchObject({ ok: false });

  // Both came after what they report.
  const { core } = running.service.service;
  const by = { value: 'Ada Staff' };
  expect(await recordedOperations(core, { tenant: tenant.alias, mode: 'live' })).toMatchObject([
    {
      operation: 'ledger digest',
      by,
      parameters: { sign: 'true' },
      resultDigest: digestOf(document),
    },
    {
      operation: 'ledger verify',
      by,
      parameters: { digest: document.digest },
      resultDigest: digestOf(JSON.parse(broken.out)),
    },
  ]);
});

test.each([
  ['of another tenant', { tenant: 'other' }, '--digest is of other in live mode'],
  ['of the other mode', { mode: 'test' }, 'in test mode'],
  ['cut short', { digest: 'abc' }, '--digest is not what the digest operation answers'],
])('a digest file %s is refused', async (_, over, problem) => {
  const [digest, places] = ['a'.repeat(64), 'b'.repeat(64)];
  const good = { tenant: tenant.alias, mode: 'live', log: 'l', position: 'p-1', events: 1 };
  const bad = await file('bad.json', JSON.stringify({ ...good, digest, places, ...over }));
  expect(await cli('ledger', 'verify', tenant.alias, '--digest', bad)).toMatchObject({
    code: 1,
    err: expect.stringContaining(problem) as unknown,
  });
});

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
