import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { NO_OPERATORS } from '../../src/config/operators.js';
import { ConsoleCall, ForRoles } from '../../src/http/console/console-call.js';
import { ConsoleGate } from '../../src/http/console/sessions/console-gate.js';
import { pollPause } from '../support/poll-pause.js';
import { startSampleApp, type SampleApp } from './sample-app.js';

/** Operators take turns, also those who share an address. */

const TOKENS = { vic: 'v'.repeat(43), fay: 'f'.repeat(43) };
type Name = keyof typeof TOKENS;

/** Whose requests were worked on, in their order. */
const order: string[] = [];
let release: () => void = () => undefined;
const released = new Promise<void>((resolve) => (release = resolve));
let begun: () => void = () => undefined;
const firstBegun = new Promise<void>((resolve) => (begun = resolve));

@ApiExcludeController()
@Controller('console')
class Pages {
  @Get('turn')
  @ForRoles('viewer')
  async turn(@ConsoleCall() { operator }: ConsoleCall): Promise<string> {
    order.push(operator.name);
    begun();
    await released;
    return operator.name;
  }
}

let app: SampleApp;
const entered: string[] = [];
beforeAll(async () => {
  const sessions = {
    begin: async () => '',
    end: async () => undefined,
    find: async (token: string) => {
      const name: Name = token === TOKENS.vic ? 'vic' : 'fay';
      entered.push(name);
      return { name, operator: { name, roles: ['viewer'] as const } };
    },
  };
  const gate = new ConsoleGate(NO_OPERATORS, sessions, { record: async () => undefined });
  app = await startSampleApp({ atWorkMax: 1 }, [Pages], { console: gate });
});
afterAll(() => app.app.close());

const open = async (name: Name): Promise<string> => {
  const headers = { cookie: `ledger_console=${TOKENS[name]}` };
  const answer = await fetch(`${app.origin}/console/turn`, { headers });
  return answer.text();
};

/** The sessions of so many requests were looked up: they are at work or wait for their turns. */
async function untilEntered(requests: number): Promise<void> {
  for (let looks = 0; entered.length < requests; looks++) await pollPause(looks);
}

test('one who asks for many pages has another at the same address wait for one of them', async () => {
  const flood = [open('vic')];
  await firstBegun;
  for (let each = 0; each < 8; each++) flood.push(open('vic'));
  await untilEntered(9);
  const other = open('fay');
  await untilEntered(10);
  release();
  expect(await other).toBe('fay');
  await Promise.all(flood);
  expect(order.indexOf('fay')).toBeLessThanOrEqual(2);
  expect(order).toHaveLength(10);
});
