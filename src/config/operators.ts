import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { errorCode } from '../foundation/error-code.js';
import { ConfigError } from './config.js';

/** What an operator may do: look after the money, or after the read models. */
export type OperatorRole = 'finance' | 'support';
export const OPERATOR_ROLES: readonly OperatorRole[] = ['finance', 'support'];

export interface Operator {
  /** Stands in audit entries as who did it. */
  readonly name: string;
  readonly roles: readonly OperatorRole[];
}

const file = z.array(
  z.strictObject({
    name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/),
    roles: z.array(z.enum(['finance', 'support'])).min(1),
    keySha256: z.string().regex(/^[0-9a-f]{64}$/),
  }),
);
export type OperatorEntry = z.infer<typeof file>[number];

/**
 * The operators of the HTTP interface, as their file lists them: names, roles and hashes of keys,
 * never a key.
 */
export class Operators {
  constructor(private readonly entries: readonly OperatorEntry[] = []) {}

  /** Nobody without a path. @throws {ConfigError} that shows nothing of the file. */
  static async from(path: string | undefined): Promise<Operators> {
    if (path === undefined) return new Operators();
    const content = await readFile(path, 'utf8').catch((error: unknown) => {
      throw new ConfigError([
        `OPERATORS_FILE cannot be read: ${errorCode(error) ?? 'unknown error'}`,
      ]);
    });
    const parsed = file.safeParse(jsonOf(content));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new ConfigError([
        `OPERATORS_FILE is no list of operators: see /${issue?.path.join('/') ?? ''}; cli operator key makes entries`,
      ]);
    }
    return new Operators(parsed.data);
  }

  /** Undefined: nobody's key. In the same time whoever it is. */
  find(key: string): Operator | undefined {
    const hash = hashOf(key);
    let found: OperatorEntry | undefined;
    for (const entry of this.entries)
      if (timingSafeEqual(hash, Buffer.from(entry.keySha256, 'hex'))) found = entry;
    return found && { name: found.name, roles: found.roles };
  }

  /** Whether somebody of that name is an operator. */
  has(name: string): boolean {
    return this.entries.some((entry) => entry.name === name);
  }
}

/** A new key of 192 random bits, and what the file is to hold of it. */
export function makeOperatorKey(
  name: string,
  roles: readonly OperatorRole[],
): { readonly key: string; readonly entry: OperatorEntry } {
  const key = `operator_${randomBytes(24).toString('hex')}`;
  return { key, entry: { name, roles: [...roles], keySha256: hashOf(key).toString('hex') } };
}

// A key has 192 random bits: a plain hash is enough, there is nothing to guess.
const hashOf = (key: string): Buffer => createHash('sha256').update(key).digest();

function jsonOf(content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch {
    return undefined;
  }
}
