import { personal, type Personal, type SubjectId } from '../domain/personal.js';
import { openValues, sealValues } from '../privacy/sealed-values.js';
import type { Sealer } from '../privacy/sealed-bytes.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import {
  requestName,
  type StoredAnswer,
  type KeyedRequest,
  type PersonalMembers,
} from './idempotency-key.js';

interface SealedAnswer extends StoredAnswer {
  readonly named?: readonly PersonalMembers[];
}

/** Encrypts stored answers as a whole, and their personal members with their subjects' keys. */
export class AnswerSeal {
  constructor(
    private readonly sealer: Sealer,
    private readonly subjects: SubjectKeys,
  ) {}

  async seal(
    request: KeyedRequest,
    answer: StoredAnswer,
    named: readonly PersonalMembers[],
  ): Promise<Buffer> {
    const kept: SealedAnswer = { ...answer, body: await this.sealed(answer.body, named), named };
    return this.sealer.seal(Buffer.from(JSON.stringify(kept)), requestName(request));
  }

  async open(request: KeyedRequest, sealed: Buffer): Promise<StoredAnswer> {
    const opened = await this.sealer.open(sealed, requestName(request));
    const kept = JSON.parse(opened.toString()) as SealedAnswer;
    const { named = [], ...answer } = kept;
    return { ...answer, body: await this.opened(answer.body, named) };
  }

  /** Removes members of forgotten people from an answer made again from the log. */
  async withoutForgotten(body: unknown, named: readonly PersonalMembers[]): Promise<unknown> {
    if (named.length === 0 || !isObject(body)) return body;
    const keys = await this.subjects.load(named.map(({ subject }) => subject));
    const gone = named.filter(({ subject }) => !keys.get(subject));
    const empty = emptyOf(gone);
    return changedMembers(body, gone, (_value, _subject, member) => empty[member] ?? null);
  }

  private async sealed(body: unknown, named: readonly PersonalMembers[]): Promise<unknown> {
    if (named.length === 0 || !isObject(body)) return body;
    const keys = await this.subjects.loadOrCreate(named.map(({ subject }) => subject));
    return changedMembers(body, named, (value, subject) =>
      sealValues(personal(subject, value), keys),
    );
  }

  private async opened(body: unknown, named: readonly PersonalMembers[]): Promise<unknown> {
    if (named.length === 0 || !isObject(body)) return body;
    const keys = await this.subjects.load(named.map(({ subject }) => subject));
    const empty = emptyOf(named);
    return changedMembers(
      body,
      named,
      (value, _subject, member) =>
        (openValues(value, keys) as Personal<unknown>).value ?? empty[member] ?? null,
    );
  }
}

const emptyOf = (named: readonly PersonalMembers[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(named.flatMap((one) => Object.entries(one.empty ?? {})));

const isObject = (body: unknown): body is Readonly<Record<string, unknown>> =>
  typeof body === 'object' && body !== null;

function changedMembers(
  body: Readonly<Record<string, unknown>>,
  named: readonly PersonalMembers[],
  change: (value: unknown, subject: SubjectId, member: string) => unknown,
): Readonly<Record<string, unknown>> {
  const subjects = new Map(
    named.flatMap(({ subject, members }) => members.map((member) => [member, subject] as const)),
  );
  return Object.fromEntries(
    Object.entries(body).map(([member, value]) => {
      const subject = subjects.get(member);
      return [member, subject === undefined ? value : change(value, subject, member)];
    }),
  );
}
