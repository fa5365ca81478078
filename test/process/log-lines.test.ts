import fs, { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { lineFormat, linesOfATurn } from '../../src/process/log-lines.js';

let folder: string;
let fd: number;
const written = (): readonly unknown[] =>
  readFileSync(join(folder, 'log'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { readonly msg: string }).msg);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-log-'));
  fd = openSync(join(folder, 'log'), 'a');
});
afterEach(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('the lines of a turn are written together at its end, in their order', async () => {
  const { lines, close } = linesOfATurn(fd);
  const logger = pino({}, lines);
  logger.info('one');
  await Promise.resolve();
  logger.info('two');
  expect(written()).toEqual([]);
  await endOfTurn();
  expect(written()).toEqual(['one', 'two']);
  logger.info('three');
  await endOfTurn();
  expect(written()).toEqual(['one', 'two', 'three']);
  close();
});

test('no line waits for a disk', async () => {
  const flushed = jest.spyOn(fs, 'fsyncSync');
  const { lines, close } = linesOfATurn(fd);
  pino({}, lines).info('one');
  await endOfTurn();
  close();
  expect(written()).toEqual(['one']);
  expect(flushed).not.toHaveBeenCalled();
  flushed.mockRestore();
});

test('a fatal line is written at once, with those before it', () => {
  const { lines, close } = linesOfATurn(fd);
  const logger = pino({}, lines);
  logger.info('before');
  logger.fatal('the end');
  expect(written()).toEqual(['before', 'the end']);
  close();
});

test('what is not written yet is written when the process ends', () => {
  const { lines, close } = linesOfATurn(fd);
  const logger = pino({}, lines);
  logger.info('last');
  close();
  expect(written()).toEqual(['last']);
});

const LINE =
  '{"level":30,"time":"2026-01-02T03:04:05.678Z","route":"/api","status":200,"msg":"request"}\n';

test.each([
  ['json', true, LINE],
  [undefined, false, LINE],
  ['pretty', false, /^\[\d\d:\d\d:05\.678\] INFO: request \{"route":"\/api","status":200\}\n$/],
  [undefined, true, /^\[\d\d:\d\d:05\.678\] \u001b\[32mINFO\u001b\[39m: .*request.*\n$/],
] as const)('the format %s with a terminal: %s', async (format, isTerminal, expected) => {
  const line = (await lineFormat(format, isTerminal))(LINE);
  if (typeof expected === 'string') expect(line).toBe(expected);
  else expect(line).toMatch(expected);
});
