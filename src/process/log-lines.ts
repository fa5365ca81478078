import type { LogFormat } from '../config/config.js';

/** Turns a line of pino, one JSON object, into the line that is written. */
type FormatLine = (line: string) => string;

/**
 * @param isTerminal whether the lines go to a terminal: readable lines are the default there, and
 * have colours unless `NO_COLOR` has a value.
 */
export async function lineFormat(
  format: LogFormat | undefined,
  isTerminal: boolean,
): Promise<FormatLine> {
  if ((format ?? (isTerminal ? 'pretty' : 'json')) === 'json') return (line) => line;
  // Only for people: elsewhere the library is not loaded.
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({
    colorize: isTerminal && !process.env.NO_COLOR,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
  });
}
