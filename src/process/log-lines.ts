import type { LogFormat } from '../config/config.js';

/** Formats a line of pino, a JSON object. */
type FormatLine = (line: string) => string;

/** @param isTerminal readable lines are the default there, coloured unless `NO_COLOR` is set. */
export async function lineFormat(
  format: LogFormat | undefined,
  isTerminal: boolean,
): Promise<FormatLine> {
  if ((format ?? (isTerminal ? 'pretty' : 'json')) === 'json') return (line) => line;
  // The library is loaded only when needed.
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({
    colorize: isTerminal && !process.env.NO_COLOR,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
  });
}
