import type { SubjectId } from '../../domain/personal.js';
import { EventCodec } from '../../event-log/codec.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';

/**
 * Decodes events without their personal values, which are null: what is made of them may be kept in
 * memory whatever happens to the people. Reads no key. An erasure among the events evicts its
 * people from `keys`: its announcement may not have reached this process yet.
 */
export function namelessCodec(keys: Pick<SubjectKeys, 'forget'>): EventCodec {
  const none = new Map<SubjectId, Buffer | null>();
  return new EventCodec({
    load: () => Promise.resolve(none),
    loadOrCreate: () => Promise.resolve(none),
    destroy: () => Promise.resolve(),
    forget: (subjects) => keys.forget(subjects),
  });
}
