import { after } from './world.js';

export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** Waits for the work, at most this long. @throws what the work throws in time. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  let cancel: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    cancel = after(ms, resolve);
  });
  try {
    await Promise.race([work, over]);
  } finally {
    cancel();
  }
}

/** A late result is dropped. @throws {TimeoutError} or the result of `late`. */
export async function withTimeout<T>(
  work: Promise<T>,
  ms: number,
  late: () => Error = () => new TimeoutError('no answer in time'),
): Promise<T> {
  let cancel: () => void = () => undefined;
  const tooLate = new Promise<never>((_, reject) => {
    cancel = after(ms, () => reject(late()));
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    cancel();
  }
}
