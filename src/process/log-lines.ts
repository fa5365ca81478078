import { pino, type DestinationStream } from 'pino';

/** Beyond it lines are written at once. */
const HELD_BYTES_MAX = 8 * 1024;

/**
 * Writes the log lines of one turn of the event loop together, at its end, and a fatal line at
 * once. `close` writes what is left; call it when the process ends.
 */
export function linesOfATurn(fd: number): {
  readonly lines: DestinationStream;
  readonly close: () => void;
} {
  const written = pino.destination({ fd, sync: true, minLength: HELD_BYTES_MAX });
  let isDue = false;
  const flush = (): void => {
    isDue = false;
    written.flushSync();
  };
  const lines = {
    write: (line: string): void => {
      written.write(line);
      if (isDue) return;
      isDue = true;
      setImmediate(flush);
    },
    // pino looks for it at a fatal line.
    flushSync: flush,
  };
  return { lines, close: flush };
}
