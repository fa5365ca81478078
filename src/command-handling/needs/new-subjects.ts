import type { ProvidedSubject } from '../../domain/need.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { deterministicId } from '../deterministic-id.js';

/** Names new people and accounts, each with an existing key. */
export class NewSubjects {
  constructor(private readonly keys: Pick<SubjectKeys, 'loadOrCreate'>) {}

  /** The first name with a key from number `from` on: a lost end of the log may hide erasures. */
  async firstWithKey(cause: string, from: number): Promise<ProvidedSubject> {
    for (let place = from; ; place++) {
      const subject = deterministicId(cause, place);
      if ((await this.keys.loadOrCreate([subject])).get(subject)) return { from: place, subject };
    }
  }
}
