import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { isScenario, SCENARIOS, type RoundPlan } from './plan.js';
import { runRound } from './round.js';
import { simulate, type Progress } from './run.js';

/** npm run simulate: the ledger in a world where a seed decides what happens next. */

const LINE_EVERY_S = 60;
const COMMANDS = 200_000;

const { values } = parseArgs({
  options: {
    commands: { type: 'string' },
    seed: { type: 'string' },
    scenario: { type: 'string' },
    replay: { type: 'string' },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const wholeNumber = (name: string, text: string): number => {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new RangeError(`--${name} is a whole number from 1`);
  return number;
};

const seed = values.seed === undefined ? randomInt(2 ** 31) : wholeNumber('seed', values.seed);
const commands =
  values.commands === undefined ? COMMANDS : wholeNumber('commands', values.commands);
const { scenario } = values;
if (scenario !== undefined && !isScenario(scenario))
  throw new RangeError(`--scenario is one of ${Object.keys(SCENARIOS).join(', ')}`);
say(`seed ${seed}`);
// Faults are errors by the thousand: their stacks, without a reader, took an eighth of the time.
if (values.replay === undefined) Error.stackTraceLimit = 0;
if (values.replay !== undefined)
  process.exitCode = await replay(JSON.parse(values.replay) as RoundPlan);
else process.exitCode = await run();

async function run(): Promise<number> {
  let nextLineAt = LINE_EVERY_S;
  const result = await simulate({
    seed,
    commands,
    scenario: scenario as keyof typeof SCENARIOS | undefined,
    shrinks: true,
    onProgress: (progress) => {
      if (progress.seconds < nextLineAt) return;
      nextLineAt += LINE_EVERY_S;
      say(summary(progress));
    },
  });
  say(summary(result));
  if (result.failing !== undefined) {
    const { plan, result: round, commands: after } = result.failing;
    say(
      `violation within ${after} commands; the smallest round found, of ${round.commands} commands:`,
    );
    for (const violation of round.violations.slice(0, 10)) say(`  ${violation}`);
    say(`replay it: npm run simulate -- --seed ${plan.seed} --replay '${JSON.stringify(plan)}'`);
  }
  say(`violations ${result.failing?.result.violations.length ?? 0}`);
  say(`digest ${result.digest}`);
  return result.failing === undefined ? 0 : 1;
}

async function replay(plan: RoundPlan): Promise<number> {
  const { violations, digest, commands, events } = await runRound(plan);
  say(`${commands} commands, ${events} events`);
  for (const violation of violations) say(`  ${violation}`);
  say(`violations ${violations.length}`);
  say(`digest ${digest}`);
  return violations.length === 0 ? 0 : 1;
}

function summary(progress: Progress): string {
  const { commands, accepted, events, rounds, seconds, processorSeconds, faults } = progress;
  const injected = [...faults].map(([kind, count]) => `${kind} ${count}`).join(', ');
  const rates = `${Math.round(commands / seconds)} a second, ${Math.round(commands / processorSeconds)} a second of processor`;
  return `${commands} commands (${accepted} accepted) in ${rounds} rounds, ${events} events, ${seconds.toFixed(1)} s, ${rates}; faults: ${injected || 'none'}`;
}
