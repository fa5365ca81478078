import type { SubjectId } from '../../domain/personal.js';
import { openBytes, sealBytes, type Sealer } from '../../privacy/sealed-bytes.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';

/**
 * Encrypts the beginnings of answers. A receiver may echo personal data, so the keys of all people
 * in the delivery encrypt the bytes too: after one of them is forgotten, no copy can be read.
 */
export class ReceiverAnswers {
  constructor(
    private readonly sealer: Sealer,
    private readonly keys: Pick<SubjectKeys, 'load'>,
  ) {}

  /** @returns null: nothing may be kept. @throws when keys cannot be read. */
  async seal(
    answer: Buffer,
    deliveryId: string,
    people: readonly SubjectId[],
  ): Promise<Buffer | null> {
    if (answer.length === 0) return null;
    const keys = await this.keysOf(people);
    if (keys === null) return null;
    const context = contextOf(deliveryId);
    const sealed = keys.reduce((bytes, key) => sealBytes(key, bytes, context), answer);
    return this.sealer.seal(sealed, context);
  }

  /** @returns null: one of the people was forgotten. @throws when keys cannot be read. */
  async open(
    sealed: Buffer,
    deliveryId: string,
    people: readonly SubjectId[],
  ): Promise<Buffer | null> {
    const keys = await this.keysOf(people);
    if (keys === null) return null;
    const context = contextOf(deliveryId);
    const opened = await this.sealer.open(sealed, context);
    return keys.reduceRight((bytes, key) => openBytes(key, bytes, context), opened);
  }

  /** Null: one of the people was forgotten. */
  private async keysOf(people: readonly SubjectId[]): Promise<readonly Buffer[] | null> {
    const loaded = await this.keys.load(people);
    const keys = people.flatMap((person) => loaded.get(person) ?? []);
    return keys.length === people.length ? keys : null;
  }
}

const contextOf = (deliveryId: string): string => `webhook answer ${deliveryId}`;
