import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isScenario, SCENARIOS, type RoundPlan } from './plan.js';
import { PLANTS, type Plant } from './plants.js';
import { runRound } from './round.js';
import { simulate, type Progress } from './run.js';

/** npm run simulate: the ledger in a world where a seed decides what happens next. */

const LINE_EVERY_S = 60;
const COMMANDS = 200_000;
const PLANTED_COMMANDS = 1_000_000;
/** Of one planted fault, unless `--seconds` says otherwise. */
const PLANTED_SECONDS = 3_600;

const { values } = parseArgs({
  options: {
    commands: { type: 'string' },
    seed: { type: 'string' },
    scenario: { type: 'string' },
    plant: { type: 'string' },
    replay: { type: 'string' },
    workers: { type: 'string', default: '1' },
    seconds: { type: 'string' },
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
const commandsOr = (otherwise: number): number =>
  values.commands === undefined ? otherwise : wholeNumber('commands', values.commands);
const { scenario } = values;
if (scenario !== undefined && !isScenario(scenario))
  throw new RangeError(`--scenario is one of ${Object.keys(SCENARIOS).join(', ')}`);
say(`seed ${seed}`);
// Faults are errors by the thousand: their stacks, which nobody reads, took an eighth of the time.
if (values.replay === undefined) Error.stackTraceLimit = 0;
if (values.replay !== undefined)
  process.exitCode = await replay(JSON.parse(values.replay) as RoundPlan);
else if (values.plant !== undefined) process.exitCode = await plantAll(values.plant);
else process.exitCode = await run(commandsOr(COMMANDS));

async function run(commands: number): Promise<number> {
  let nextLineAt = LINE_EVERY_S;
  const result = await simulate({
    seed,
    commands,
    scenario: scenario as keyof typeof SCENARIOS | undefined,
    shrinks: process.env['SIMULATE_PLANTED'] === undefined,
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

/** Each in a process of its own, whose modules have the fault; so many processes at once. */
async function plantAll(name: string): Promise<number> {
  const plants = PLANTS.filter((plant) => name === 'all' || plant.name === name);
  if (plants.length === 0)
    throw new RangeError(
      `--plant is all or one of ${PLANTS.map((plant) => plant.name).join(', ')}`,
    );
  const waiting = [...plants];
  let found = 0;
  const worker = async (): Promise<void> => {
    for (let plant = waiting.shift(); plant !== undefined; plant = waiting.shift())
      if (await isFound(plant)) found += 1;
  };
  const workers = wholeNumber('workers', values.workers);
  await Promise.all(Array.from({ length: workers }, worker));
  say(`${found} of ${plants.length} planted faults were found`);
  return found === plants.length ? 0 : 1;
}

/** Prints its line of the table. */
async function isFound({ name, scenario: own }: Plant): Promise<boolean> {
  const seconds =
    values.seconds === undefined ? PLANTED_SECONDS : wholeNumber('seconds', values.seconds);
  const within = scenario ?? own;
  const child = spawn(
    process.execPath,
    [
      '--import',
      new URL('./plant-loader.js', import.meta.url).href,
      fileURLToPath(import.meta.url),
      `--seed=${seed}`,
      `--commands=${commandsOr(PLANTED_COMMANDS)}`,
      ...(within === undefined ? [] : [`--scenario=${within}`]),
    ],
    {
      env: { ...process.env, SIMULATE_PLANTED: name },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: seconds * 1_000,
    },
  );
  const texts = { out: '', err: '' };
  child.stdout.on('data', (piece: Buffer) => (texts.out += piece.toString()));
  child.stderr.on('data', (piece: Buffer) => (texts.err += piece.toString()));
  const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const [, after] = /violation within (\d+) commands/.exec(texts.out) ?? [];
  const first = /^ {2}(.*)$/m.exec(texts.out)?.[1]?.slice(0, 90);
  const why = signal === null ? texts.err.trim().split('\n')[0] : `stopped after ${seconds} s`;
  say(`${name.padEnd(36)} ${(after ?? 'not found').padStart(9)}  ${first ?? why ?? ''}`);
  return after !== undefined;
}

function summary(progress: Progress): string {
  const { commands, accepted, events, rounds, seconds, processorSeconds, faults } = progress;
  const injected = [...faults].map(([kind, count]) => `${kind} ${count}`).join(', ');
  const rates = `${Math.round(commands / seconds)} a second, ${Math.round(commands / processorSeconds)} a second of processor`;
  return `${commands} commands (${accepted} accepted) in ${rounds} rounds, ${events} events, ${seconds.toFixed(1)} s, ${rates}; faults: ${injected || 'none'}`;
}
