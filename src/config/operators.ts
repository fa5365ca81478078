import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { ConfigError } from './config.js';

/**
 * `finance`: the money; `support`: read models and settings; `viewer`: figures, no personal data.
 */
export const OPERATOR_ROLES = ['finance', 'support', 'viewer'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

export interface Operator {
  /** The actor in audit entries. */
  readonly name: string;
  readonly roles: readonly OperatorRole[];
}

/** An operator with the SHA-256 hash (hex) of the key. */
export interface KeyHolder {
  readonly operator: Operator;
  readonly keySha256: string;
}

/** Names are compared without case. */
export const OPERATOR_NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

const file = z.array(
  z.strictObject({
    name: z.string().regex(OPERATOR_NAME),
    roles: z.array(z.enum(OPERATOR_ROLES)).min(1),
    keySha256: z.string().regex(/^[0-9a-f]{64}$/),
  }),
);
export type OperatorEntry = z.infer<typeof file>[number];

/** @throws {ConfigError} without any content of the file. */
export function operatorEntries(content: string): readonly OperatorEntry[] {
  const parsed = file.safeParse(jsonOf(content));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ConfigError([
    `OPERATORS_FILE is no list of operators: see /${issue?.path.join('/') ?? ''}; cli operator add makes entries`,
  ]);
}

/** Operators of the HTTP interface: names, roles and key hashes. */
export class Operators {
  constructor(private readonly entries: readonly OperatorEntry[] = []) {}

  /** Undefined: unknown key. Takes constant time. */
  holderOf(key: string): KeyHolder | undefined {
    const hash = hashOf(key);
    let found: OperatorEntry | undefined;
    for (const entry of this.entries)
      if (timingSafeEqual(hash, Buffer.from(entry.keySha256, 'hex'))) found = entry;
    return found && holder(found);
  }

  /** The operator of this name and key; undefined: the key is no longer valid. */
  operatorWithKey(name: string, keySha256: string): Operator | undefined {
    const entry = this.entries.find((one) => one.name === name && one.keySha256 === keySha256);
    return entry && holder(entry).operator;
  }

  /** Whether an operator of this name, ignoring case, has the role. */
  hasRole(name: string, role: OperatorRole): boolean {
    return this.entries.some(
      (entry) => entry.name.toLowerCase() === name.toLowerCase() && entry.roles.includes(role),
    );
  }
}

/** The operators whose keys are valid now. */
export interface CurrentOperators {
  now(): Promise<Operators>;
}

export const NO_OPERATORS: CurrentOperators = { now: async () => new Operators() };

/** A new key of 192 random bits, and its entry for the file. */
export function newOperatorKey(
  name: string,
  roles: readonly OperatorRole[],
): { readonly key: string; readonly entry: OperatorEntry } {
  const key = `operator_${randomBytes(24).toString('hex')}`;
  return { key, entry: { name, roles: [...roles], keySha256: hashOf(key).toString('hex') } };
}

const holder = ({ name, roles, keySha256 }: OperatorEntry): KeyHolder => ({
  operator: { name, roles },
  keySha256,
});

// A key has 192 random bits, so a plain hash cannot be guessed.
const hashOf = (key: string): Buffer => createHash('sha256').update(key).digest();

function jsonOf(content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch {
    return undefined;
  }
}
