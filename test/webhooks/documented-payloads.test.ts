import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import {
  exportData,
  testData,
  themePublishFinishedData,
} from '../../src/webhooks/payloads/presented.js';
import { WEBHOOK_TYPES, type WebhookType } from '../../src/webhooks/payloads/announced.js';
import { accepted, SharedLedger } from '../command-handling/support/processes.js';
import { Listener } from './support/listener.js';

/** docs/webhooks-payloads.md has a real payload of each type; `WRITE_EXAMPLES=1` writes them. */

const PAGE = 'docs/webhooks-payloads.md';
/** Two types share their members and their example. */
const SHOWN = WEBHOOK_TYPES.filter((type) => type !== 'export.created');

type Data = Readonly<Record<string, unknown>>;

const EXPORT = exportData({
  id: '5d2f8a4e-6c1b-4f7a-9e3d-0b1c2d3e4f5a',
  name: 'Referrals in March',
  requester: 'API',
  status: 'COMPLETED',
  dateCreated: 1_772_323_200_000,
  dateCompleted: 1_772_323_260_000,
  dateExpires: 1_774_742_400_000,
  format: 'CSV',
  type: 'REFERRAL',
  params: { createdSince: '2026-03-01' },
  stats: { rows: 1204, bytes: 181_345 },
});

let made: ReadonlyMap<WebhookType, Data>;
beforeAll(async () => {
  made = new Map<WebhookType, Data>([
    ...(await story()),
    ['export.created', EXPORT],
    ['export.completed', EXPORT],
    ['theme.publish.finished', themePublishFinishedData('en_CA')],
    ['test', testData('https://receiver.example/hooks', 'Orders')],
  ]);
  if (process.env['WRITE_EXAMPLES']) writeFileSync(PAGE, await withExamples(page()));
});

/** The newest payload of each type. */
async function story(): Promise<[WebhookType, Data][]> {
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1000, currency: 'USD' };
  const ledger = await SharedLedger.open({
    id: 'default',
    referredReward: { ...reward, assignedCredit: 500 },
    referrerReward: reward,
  });
  try {
    const service = await ledger.process();
    const listener = new Listener(service);
    await service.userWithCode('acme', 'ann', 'ANNLEE');
    accepted(
      await service.upsert('acme', 'ann', { changes: { firstName: 'Ann', lastName: 'Lee' } }),
    );
    accepted(await service.sync('globex', 'TRIAL', ['ANNLEE']));
    const changes = {
      email: 'ann.lee@globex.example',
      firstName: 'Ann',
      lastName: 'Lee',
      locale: 'en_CA',
      customFields: { plan: 'gold' },
      segments: ['vip'],
    };
    accepted(await service.upsert('globex', 'annlee', { referralCode: 'ANNLEE2', changes }));
    accepted(await service.sync('globex', 'PAID'));
    accepted(await service.sync('globex', 'CANCELLED'));
    const news = await listener.news();
    return news.flatMap(({ type, data }) => (data ? [[type, data]] : []));
  } finally {
    await ledger.close();
  }
}

const page = (): string => readFileSync(PAGE, 'utf8');
const placeOf = (type: string): RegExp =>
  new RegExp(`<!-- example: ${type.replaceAll('.', '\\.')} -->\n+(?:\`\`\`json\n([^]*?)\`\`\`\n)?`);

async function withExamples(text: string): Promise<string> {
  const filled = SHOWN.reduce((before, type) => {
    const json = JSON.stringify(made.get(type), null, 2);
    return before.replace(
      placeOf(type),
      () => `<!-- example: ${type} -->\n\n\`\`\`json\n${json}\n\`\`\`\n`,
    );
  }, text);
  return format(filled, { ...(await resolveConfig(PAGE)), filepath: PAGE });
}

/** Members and the types of their values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value;
  return Object.entries(value).map(([name, member]) => [name, shapeOf(member)]);
}

/** Their payloads are the same in every run. */
const SAME: readonly WebhookType[] = ['export.completed', 'theme.publish.finished', 'test'];

test.each(SHOWN)('the example of %s has the members of a real payload', (type) => {
  const [, example] = placeOf(type).exec(page()) ?? [];
  expect(example).toBeDefined();
  const shown: unknown = JSON.parse(example ?? 'null');
  if (SAME.includes(type)) expect(shown).toEqual(made.get(type));
  else expect(shapeOf(shown)).toEqual(shapeOf(made.get(type)));
});

test('every type is on the page', () => {
  for (const type of WEBHOOK_TYPES) expect(page()).toContain(`\`${type}\``);
});
