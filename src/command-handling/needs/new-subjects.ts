import type { ProvidedSubject } from '../../domain/need.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { deterministicId } from '../deterministic-id.js';

/** Names people and accounts that are about to come into being, by a key that exists. */
export class NewSubjects {
  constructor(private readonly keys: Pick<SubjectKeys, 'loadOrCreate'>) {}

  /**
   * The first name of the cause, from `from` on, whose key is not destroyed: a log that lost its
   * end may know nothing of an erasure.
   */
  async firstWithKey(cause: string, from: number): Promise<ProvidedSubject> {
    for (let place = from; ; place++) {
      const subject = deterministicId(cause, place);
      if ((await this.keys.loadOrCreate([subject])).get(subject)) return { from: place, subject };
    }
  }
}
