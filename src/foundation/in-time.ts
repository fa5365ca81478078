import { after } from './world.js';

/** The work did not finish in time. */
export class NoAnswerInTime extends Error {
  override readonly name = 'NoAnswerInTime';
}

/** Waits for the work, at most that long. @throws what the work throws in time. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
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

/**
 * The work's result; a late result is dropped. @throws {NoAnswerInTime}, or the result of `late`,
 * after this many milliseconds.
 */
export async function inTime<T>(
  work: Promise<T>,
  ms: number,
  late: () => Error = () => new NoAnswerInTime('no answer in time'),
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
