/** What is asked hangs. */
export class NoAnswerInTime extends Error {
  override readonly name = 'NoAnswerInTime';
}

/** The work's result. What comes of it later is dropped. @throws {NoAnswerInTime} */
export async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswerInTime('no answer in time')), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
