/** Encrypted with its subject's key in the log; null once that key is destroyed. */
export interface Personal<T> {
  /** The generated id of a person or account, never a client's id. */
  readonly subject: SubjectId;
  readonly value: T | null;
}

/** A generated UUID of a person or account; also the name of an encryption key. */
export type SubjectId = string;

export const personal = <T>(subject: SubjectId, value: T): Personal<T> => ({ subject, value });
