import { pino, type DestinationStream } from 'pino';
import type { LogFormat } from '../config/config.js';

/** More is written before the end of the turn. */
const HELD_CHARACTERS_MAX = 8 * 1024;

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

/**
 * Writes the log lines of one turn of the event loop together, at its end, and a fatal line
 * immediately. Nothing is flushed to a disk for it. `close` writes what is left; call it when the
 * process ends.
 */
export function linesOfATurn(
  fd: number,
  format: FormatLine = (line) => line,
): {
  readonly lines: DestinationStream;
  readonly close: () => void;
} {
  // Its own `flushSync` would call fsync.
  const written = pino.destination({ fd, sync: true });
  let held = '';
  let isDue = false;
  const flush = (): void => {
    isDue = false;
    const text = held;
    held = '';
    if (text !== '') written.write(text);
  };
  const lines = {
    write: (line: string): void => {
      held += format(line);
      if (held.length > HELD_CHARACTERS_MAX) return flush();
      if (isDue) return;
      isDue = true;
      setImmediate(flush);
    },
    // pino looks for it at a fatal line.
    flushSync: flush,
  };
  return { lines, close: flush };
}
