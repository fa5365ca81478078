import { pino, type DestinationStream } from 'pino';

/** More is written before the end of the turn. */
const HELD_CHARACTERS_MAX = 8 * 1024;

/**
 * Writes the log lines of one turn of the event loop together, at its end, and a fatal line at
 * once. Nothing is flushed to a disk for it. `close` writes what is left; call it when the process
 * ends.
 */
export function linesOfATurn(fd: number): {
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
      held += line;
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
