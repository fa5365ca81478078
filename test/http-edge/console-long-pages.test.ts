import type { Readable } from 'node:stream';
import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { NO_OPERATORS } from '../../src/config/operators.js';
import { ConsoleCall, ForRoles, longPageSent, pageSent } from '../../src/console/console-call.js';
import { ConsoleGate } from '../../src/console/sessions/console-gate.js';
import { TEXTS } from '../../src/console/texts.js';
import { template } from '../../src/console/view/templates.js';
import type { HttpLimits } from '../../src/http/edge/http-limits.js';
import { ApiError } from '../../src/http/edge/api-error.js';
import { DatabaseUnavailable } from '../../src/postgres/database.js';
import { startSampleApp, type SampleApp } from './sample-app.js';

/** A page whose content takes long shows its heading meanwhile. */

const content = template('<p class="found">{{found}}</p>');
const frame = { title: 'A <title> of </h1>' };

/** What the page waits for, before and after its request is accepted. */
let before: Promise<void>;
let work: Promise<string>;
/** Pages asked for. */
let asked = 0;

@ApiExcludeController()
@Controller('console')
class Pages {
  @Get('long')
  @ForRoles('viewer')
  long(@ConsoleCall() call: ConsoleCall): Promise<string | Readable> {
    return longPageSent(call, frame, async (accepted) => {
      asked += 1;
      await before;
      accepted();
      return pageSent(call, frame, content, { found: await work });
    });
  }
}

function start(limits: Partial<HttpLimits>): Promise<SampleApp> {
  const operator = { name: 'vic', roles: ['viewer'] as const };
  const sessions = {
    begin: async () => '',
    end: async () => undefined,
    find: async () => ({ name: 'vic', operator }),
  };
  const noTenant = { record: async () => undefined, scopeOf: async () => undefined };
  const gate = new ConsoleGate(NO_OPERATORS, sessions, noTenant, async () => () => undefined);
  return startSampleApp(limits, [Pages], { console: gate });
}

let it_: SampleApp;
beforeAll(async () => {
  it_ = await start({});
});
afterAll(() => it_.app.close());
beforeEach(() => {
  before = Promise.resolve();
});

const open = ({ origin } = it_): Promise<Response> =>
  fetch(`${origin}/console/long`, { headers: { cookie: `ledger_console=${'x'.repeat(43)}` } });

interface Held {
  readonly finish: (found: string) => void;
  readonly fail: (error: Error) => void;
}

/** The work of the page goes on until the test ends it. */
function held(): Held {
  let ends: Held = { finish: () => undefined, fail: () => undefined };
  work = new Promise((finish, fail) => (ends = { finish, fail }));
  work.catch(() => undefined);
  return ends;
}

/** The answer to a page whose work is still going on: its heading, and the rest when asked for. */
async function begun(
  started = it_,
): Promise<{ answer: Response; start: string; rest: () => Promise<string> }> {
  const answer = await open(started);
  if (answer.body === null) throw new Error('the answer has no body');
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  const { value } = await reader.read();
  return {
    answer,
    start: decoder.decode(value, { stream: true }),
    rest: async () => {
      let text = '';
      for (let part = await reader.read(); !part.done; part = await reader.read())
        text += decoder.decode(part.value, { stream: true });
      return text;
    },
  };
}

async function shortPage(found: string): Promise<string> {
  work = Promise.resolve(found);
  return (await open()).text();
}

/** What follows the heading of a page whose work fails. */
async function restOfFailed(error: Error): Promise<string> {
  const { fail } = held();
  const { rest } = await begun();
  fail(error);
  return rest();
}

test('its heading comes while the work goes on, and then the same page as a short one', async () => {
  const whole = await shortPage('all of it');
  expect(whole).toContain('<p class="found">all of it</p>');
  expect(whole).not.toContain(TEXTS.layout.awaited);
  const { finish } = held();
  const { answer, start, rest } = await begun();
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'self'");
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(start).toContain('<h1>A &lt;title&gt; of &lt;/h1&gt;</h1>');
  const note = `\n<p class="awaited" role="status">${TEXTS.layout.awaited}</p>`;
  expect(start.endsWith(note)).toBe(true);
  finish('all of it');
  expect(start.slice(0, -note.length) + (await rest())).toBe(whole);
});

test('a request that is refused late has its status, since no heading was sent', async () => {
  const { finish } = held();
  let refuse: (error: Error) => void = () => undefined;
  before = new Promise((_, reject) => (refuse = reject));
  const first = asked;
  const refused = open();
  while (asked === first) await new Promise((resolve) => setImmediate(resolve));
  before = Promise.resolve();
  // Asked for later, and its heading is there.
  const { rest } = await begun();
  refuse(new ApiError('ACCOUNT_NOT_FOUND'));
  expect((await refused).status).toBe(404);
  finish('all of it');
  await rest();
});

test('a store that goes away meanwhile is said below the heading, logged, and asked again', async () => {
  const text = await restOfFailed(new DatabaseUnavailable('gone: a secret'));
  expect(text).toContain('<meta http-equiv="refresh" content="5">');
  expect(text).toContain(TEXTS.errors.comesBack);
  expect(text).toContain('role="alert"');
  expect(text.trimEnd().endsWith('</html>')).toBe(true);
  expect(text).not.toContain('secret');
  expect(it_.logged.filter(({ msg }) => msg === 'request failed')).toHaveLength(1);
});

test('an error that nobody expected is said without its text, and not asked again', async () => {
  const text = await restOfFailed(new Error('a secret'));
  expect(text).toContain('role="alert"');
  expect(text).not.toContain('refresh');
  expect(text).not.toContain('secret');
});

test('it has its place among the requests in progress until its end', async () => {
  const started = await start({ atWorkMax: 1, inFlightMax: 1 });
  const { finish } = held();
  const { rest } = await begun(started);
  expect((await open(started)).status).toBe(503);
  finish('over');
  expect(await rest()).toContain('over');
  expect(await (await open(started)).text()).toContain('over');
  await started.app.close();
});
