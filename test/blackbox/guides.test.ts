// Over 5 s: follows guides, each on services that it starts.
import { execFile, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GuideReader } from '../support/guide-reader.js';
import { projectRoot } from '../harness/service-process.js';

/** The commands and files of README and guides, as written. Only the ports are others. */

jest.setTimeout(300_000);

const HOW_TO = 'docs/how-to';
const QUICK_START = ['README.md', '## Quick start', '## The two commands'] as const;
const isHere = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;
/** In Debian: the packages nginx and postgresql-client. */
const ifHere = (program: string) => (isHere(program) ? test : test.skip);

let reader: GuideReader;
/** What each block of commands of a guide prints, or of a part of it. */
const guide = (name: string, ...part: readonly [from?: string, to?: string]) =>
  reader.follow(`${HOW_TO}/${name}`, ...part);

describe('next to the service of the quick start', () => {
  beforeAll(async () => {
    reader = await GuideReader.open();
  });
  afterAll(() => reader.close());

  test('the quick start leads from a referral to its statement', async () => {
    const [story, books] = await reader.follow(...QUICK_START);
    expect(story).toContain('{"creditRedeemed":300,"creditAvailable":700,"unit":"CENTS"}');
    expect(books).toMatch(/acme[^]*700/);
  });

  test('a sign-up leads to a converted referral and its rewards', async () => {
    const [, , attributed, reward, paid, earned, ts, py] = await guide('integrate-a-sign-up.md');
    expect(attributed).toContain('"referral":{"code":"NORALEE"}');
    expect(reward).toContain('"discountPercent":10');
    expect(paid).toContain('"status":"PAID"');
    expect(earned).toMatch(/"totalAvailableCredit":1000.*"dateReferralPaid":\d+/s);
    expect(`${ts}${py}`).toMatch(/^Eve's code is \w+\nWes's code is \w+\n$/);
  });

  test('a checkout redeems credit and gives it back', async () => {
    const [, available, redeemed, returned, ts, py] = await guide('redeem-at-checkout.md');
    expect(available).toContain('"totalAvailableCredit":900');
    expect(redeemed).toBe('{"creditRedeemed":500,"creditAvailable":400,"unit":"CENTS"}');
    expect(returned).toContain('"name":"Order 1001 returned"');
    expect(ts).toBe('order 1002: true\norder 1003: false\n');
    expect(py).toBe('order 1004: True\norder 1005: False\n');
  });

  test('a discount is shown, attributed and read', async () => {
    const [, code, before, , now] = await guide('discounts.md');
    expect(code).toContain('"discountPercentage":10');
    expect(before).toContain('"discountPercentage":10');
    expect(now).toContain('"discountPercentage":10');
  });

  test('a page shows the code of the user of its token', async () => {
    const [made, read] = await guide(
      'user-tokens.md',
      '## A page that calls',
      '## Origins and limits',
    );
    expect([made, read]).toEqual(Array(2).fill(expect.stringContaining('"accountId":"a1"')));
    const page = `http://127.0.0.1:${reader.port(4100)}/`;
    expect(await (await fetch(page)).text()).toContain('<script type="module">');
    const chromium = process.env.CHROMIUM ?? 'chromium';
    if (!isHere(chromium)) return;
    const words = ['--headless', '--no-sandbox', '--virtual-time-budget=20000', '--dump-dom', page];
    const { stdout } = await promisify(execFile)(chromium, words);
    expect(stdout).toMatch(/<b id="code">\w+<\/b>/);
  });

  test('twelve commands at most lead a newcomer to a verified webhook', async () => {
    const files = await Promise.all(
      ['README.md', `${HOW_TO}/receive-webhooks.md`].map((page) =>
        readFile(join(projectRoot(), page), 'utf8'),
      ),
    );
    const [install, first] = [files[0]?.split('npm start\n')[0], files[1]?.split('## The same')[0]];
    const blocks = [...`${install}npm start\n\`\`\`\n${first}`.matchAll(/```(\w+)\n([^]*?)```/g)];
    const commands = blocks.flatMap(([, language, text = '']) =>
      language === 'sh' ? text.trim().split('\n') : ['saved'],
    );
    expect(['git clone', 'cd', ...commands].length).toBeLessThanOrEqual(12);
  });

  test('receivers verify webhooks, which an operator tests and repeats', async () => {
    const [first, next] = ['## The first webhook', '## The same in Python'];
    await guide('receive-webhooks.md', first, next);
    await reader.prints('user.created');
    await guide('receive-webhooks.md', next, '## The request');
    await reader.prints(/test\n[^]*user\.created/);
    const forged = await fetch(`http://127.0.0.1:${reader.port(4000)}/hook`, { method: 'POST' });
    expect(forged.status).toBe(400);
    await guide('receive-webhooks.md', '## On your own machine', '## Verify the origin');
    await reader.prints(/listening to demo \(test\)/);
  });

  test('a digest verifies the ledger, an export and a signature', async () => {
    const [, verified, exported, signature] = await guide('verify-the-ledger.md');
    expect(verified).toContain('"ok": true');
    expect(exported).toContain('OK');
    expect(signature).toContain('Signature Verified Successfully');
  });

  test('a backup is restored, without people who were forgotten later', async () => {
    const [, , , , verified] = await guide('back-up-and-restore.md');
    expect(verified).toMatch(/OK|ok/);
  });

  test('a newer release takes over from the one that runs', async () => {
    const [, , after] = await guide('upgrade.md');
    expect(after).toMatch(/"id":"upgraded"[^]*processes of other releases: 0/);
  });
});

describe('on services and stores of their own', () => {
  beforeEach(async () => {
    reader = await GuideReader.open();
    await reader.follow('README.md', '## Quick start', 'This is a referral');
  });
  afterEach(() => reader.close());

  test('an operator makes a tenant with a program', async () => {
    const [printed] = await guide('tenants-and-programs.md');
    expect(printed).toMatch(/"assignedCredit": ?1000/);
  });

  test('a payment provider converts a referral and pays its reward', async () => {
    const [, , sent, paid] = await guide('connect-a-payment-provider.md', '## Try it', '## Once');
    expect(sent).toBe('200 {"received":true}\n'.repeat(2));
    expect(paid).toContain('PUSHED');
  });

  ifHere('psql')('a Postgres of your own takes the first request (needs psql)', async () => {
    const printed = await guide('use-your-own-postgres.md', '', '## Rights of the role');
    expect(printed.at(-1)).toContain('"referralCode":"ANNLEE"');
  });

  ifHere('nginx')(
    'nginx passes on the interface, and nothing for operators (needs nginx)',
    async () => {
      const [, answers] = await guide('run-behind-nginx.md', '## nginx', 'Keep these settings');
      expect(answers).toMatch(/"totalCount":0[^]*"status":"ready"/);
      const console = await fetch(`http://127.0.0.1:${reader.port(8080)}/console`);
      expect(console.status).toBe(404);
    },
  );

  test('a cluster of EventStoreDB takes requests, also after the loss of its leader', async () => {
    const [taken, after] = await guide('run-on-an-eventstoredb-cluster.md');
    expect(taken).toContain('"referralCode":"ANNLEE"');
    expect(after).toContain('"referral":{"code":"ANNLEE"}');
  });

  test('the log moves to EventStoreDB while the service is stopped', async () => {
    await guide('run-on-an-eventstoredb-cluster.md', '## 1. The nodes', '## 2. The service');
    const [, moved] = await guide('move-the-log.md');
    expect(moved).toMatch(/^OK: \d+ events/m);
  });
});
