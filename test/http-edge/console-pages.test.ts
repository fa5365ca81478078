import { ServerResponse } from 'node:http';
import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { NO_OPERATORS } from '../../src/config/operators.js';
import { Access } from '../../src/http/edge/access.js';
import { ConsoleGate } from '../../src/console/sessions/console-gate.js';
import { startSampleApp, turnsUntil, type SampleApp } from './sample-app.js';

@ApiExcludeController()
@Controller('console')
class Pages {
  @Get('page')
  @Access('console', { roles: ['viewer'] })
  page(): string {
    return 'a page';
  }
}

let checks = 0;
let databaseAnswers = true;
let release: () => void = () => undefined;
let looked: Promise<undefined>;
const hang = (): void => {
  looked = new Promise((resolve) => (release = () => resolve(undefined)));
};

let it_: SampleApp;
beforeAll(async () => {
  const sessions = { begin: async () => '', end: async () => undefined, find: () => looked };
  const noTenant = { record: async () => undefined, scopeOf: async () => undefined };
  const gate = new ConsoleGate(
    NO_OPERATORS,
    sessions,
    noTenant,
    async () => undefined,
    async () => () => undefined,
  );
  const check = async (): Promise<boolean> => {
    checks += 1;
    return databaseAnswers;
  };
  it_ = await startSampleApp({}, [Pages], { console: gate, databaseAnswers: check });
});
afterAll(() => it_.app.close());
beforeEach(hang);
afterEach(() => release());

const open = (): Promise<Response> =>
  fetch(`${it_.origin}/console/page`, {
    redirect: 'manual',
    headers: { cookie: `ledger_console=${'x'.repeat(43)}` },
  });

test('shows an outage of the database and reloads automatically', async () => {
  databaseAnswers = false;
  const answer = await open();
  expect(answer.status).toBe(503);
  expect(answer.headers.get('refresh')).toBe('5');
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await answer.text()).toContain('loaded again by itself');
});

test('waits for a database that answers late, with one listener for all checks', async () => {
  databaseAnswers = true;
  const before = checks;
  const listening = jest.spyOn(ServerResponse.prototype, 'once');
  const answer = open();
  await turnsUntil(() => checks > before);
  const listeners = listening.mock.calls.length;
  await turnsUntil(() => checks > before + 1);
  expect(listening.mock.calls).toHaveLength(listeners);
  listening.mockRestore();
  release();
  expect((await answer).headers.get('location')).toBe('/console/sign-in');
});

test('an address below the console that is none is a page', async () => {
  for (const path of ['/console/none', '/console/none/at/all', '/console/%zz']) {
    const answer = await fetch(`${it_.origin}${path}`);
    expect({ path, ok: answer.status === 404 || answer.status === 400 }).toEqual({
      path,
      ok: true,
    });
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'self'");
  }
  const elsewhere = await fetch(`${it_.origin}/consoles`);
  expect(elsewhere.headers.get('content-type')).toBe('application/json; charset=utf-8');
});
