/**
 * A value that identifies a person. In memory it is plain; in the log it is encrypted with the key
 * of its subject. Once that key is destroyed the value folds to `null`: the event stays, the person
 * is gone.
 */
export interface Personal<T> {
  /** Whose key encrypts it: a person's or an account's id of ours, never a client's id. */
  readonly subject: SubjectId;
  readonly value: T | null;
}

/** A UUID of ours for a person or an account; the name of an encryption key. */
export type SubjectId = string;

export const personal = <T>(subject: SubjectId, value: T): Personal<T> => ({ subject, value });
