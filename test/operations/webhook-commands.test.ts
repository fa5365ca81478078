// Over 5 s: some twenty commands, which each open the stores.
import { runHere } from '../support/command-line.js';
import { useService, useTenant } from '../support/running-service.js';
import { startWebhookReceiver } from '../support/webhook-receiver.js';
import { openOnce } from '../support/opened.js';

const ALLOWED = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
const running = useService(() => ALLOWED);
const tenant = useTenant(running, { each: true });
const receiver = openOnce(startWebhookReceiver, 'stop');
jest.setTimeout(180_000);

async function webhook(command: string, ...words: readonly string[]) {
  const all = ['webhook', command, tenant.alias, ...words, '--json'];
  const { code, out, err } = await runHere(running.stores, all, ALLOWED);
  return { code, err, document: out === '' ? undefined : (JSON.parse(out) as unknown) };
}

const inTest = (command: string, ...words: readonly string[]) =>
  webhook(command, ...words, '--mode', 'test');

let paths = 0;
const endpointAt = (path = `/hooks-${++paths}`) => ({ path, url: receiver.url(path) });

test('a test is sent once and immediately, and its answer decides the exit code', async () => {
  const { path, url } = endpointAt();
  await webhook('add', '--endpoint', url, '--types', 'reward.created');
  receiver.behave(path, { kind: 'answer' }, { kind: 'answer', status: 500 });
  expect(await webhook('test', '--endpoint', url)).toMatchObject({
    code: 0,
    document: { status: 200, reason: null, ms: expect.any(Number) as unknown },
  });
  expect(await webhook('test', '--endpoint', url)).toMatchObject({
    code: 1,
    document: { status: 500 },
  });
  const { document } = await webhook('deliveries');
  expect(document).toMatchObject([
    { type: 'test', state: 'DEAD', attempts: 1, nextAttemptAt: null },
    { type: 'test', state: 'DELIVERED', attempts: 1 },
  ]);
  const [newest] = document as readonly { readonly id: string }[];
  const id = newest?.id ?? '';
  expect(await webhook('show', id.slice(0, 12))).toMatchObject({
    document: { id, attempts: [{ status: 500 }] },
  });
  expect(receiver.receivedAt(path)).toHaveLength(2);
  expect(await webhook('test', '--endpoint', receiver.url('/unknown'))).toMatchObject({ code: 1 });
});

test('a sample goes to the endpoints of test mode that receive its type', async () => {
  const [some, other] = [endpointAt(), endpointAt()];
  await inTest('add', '--endpoint', some.url, '--types', 'reward.created,export.created');
  await inTest('add', '--endpoint', other.url, '--types', 'user.created');
  const sent = await webhook('trigger', 'reward.created');
  expect(sent).toMatchObject({ code: 0, document: [{ endpointUrl: some.url, status: 200 }] });
  const [received] = await receiver.requests(some.path, 1);
  expect(received?.headers['webhook-sample']).toBe('true');
  expect(JSON.parse(String(received?.body))).toMatchObject({
    id: received?.headers['webhook-id'],
    type: 'reward.created',
    tenantAlias: tenant.alias,
    live: false,
    data: { type: 'CREDIT', unit: 'CENTS' },
  });
  expect((await inTest('deliveries')).document).toMatchObject([
    { type: 'reward.created', state: 'DELIVERED', endpointUrl: some.url },
  ]);
  const forwarded = endpointAt();
  expect(await webhook('trigger', 'export.created', '--forward-to', forwarded.url)).toMatchObject({
    code: 0,
    document: [{ endpointUrl: forwarded.url, status: 200 }],
  });
  const [alone] = await receiver.requests(forwarded.path, 1);
  expect(alone?.headers['webhook-sample']).toBe('true');
});

test.each([
  ['an unknown type', ['nothing.happened'], /user\.created.*theme\.publish\.finished/],
  ['live mode', ['user.created', '--mode', 'live'], /--mode.*'live' is invalid.*choices are test/],
  ['no endpoint that receives it', ['user.created'], /^no enabled endpoint of test mode/],
  ['an unknown endpoint', ['user.created', '--endpoint', 'https://a.example/'], /^there is no/],
  ['another machine', ['user.created', '--forward-to', 'http://a.example/'], /must lead to/],
])('webhook trigger refuses %s in one line, with exit 1', async (_, words, line) => {
  const { code, err } = await webhook('trigger', ...words);
  expect([code, err]).toEqual([1, expect.stringMatching(/^[^\n]+\n$/)]);
  expect(err).toMatch(line);
});
