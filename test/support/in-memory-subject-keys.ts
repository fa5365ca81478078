import { createHash } from 'node:crypto';
import type { SubjectId } from '../../src/domain/personal.js';
import type { SubjectKeys } from '../../src/privacy/subject-keys.js';

/** Keys without a database: the same subject always has the same one, until it is destroyed. */
export class InMemorySubjectKeys implements SubjectKeys {
  private readonly made = new Set<SubjectId>();
  private readonly destroyed = new Set<SubjectId>();

  /** @param everySubject whether each subject has a key from the start. */
  constructor(private readonly everySubject = false) {}

  load(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>> {
    return Promise.resolve(new Map([...subjects].map((subject) => [subject, this.keyOf(subject)])));
  }

  loadOrCreate(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>> {
    const wanted = [...subjects];
    for (const subject of wanted) this.made.add(subject);
    return this.load(wanted);
  }

  destroy(subjects: readonly SubjectId[]): Promise<void> {
    for (const subject of subjects) this.destroyed.add(subject);
    return Promise.resolve();
  }

  /** Nothing is remembered but the keys themselves. */
  forget(): void {
    return;
  }

  private keyOf(subject: SubjectId): Buffer | null {
    const isThere = (this.everySubject || this.made.has(subject)) && !this.destroyed.has(subject);
    return isThere ? createHash('sha256').update(`key of ${subject}`).digest() : null;
  }
}
