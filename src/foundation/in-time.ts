/** What is asked hangs. */
export class NoAnswerInTime extends Error {
  override readonly name = 'NoAnswerInTime';
}

/**
 * The work's result. What comes of it later is dropped. @throws {NoAnswerInTime}, or what `late`
 * makes, after so many milliseconds.
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
