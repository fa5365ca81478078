/** The work did not finish in time. */
export class NoAnswerInTime extends Error {
  override readonly name = 'NoAnswerInTime';
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
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
