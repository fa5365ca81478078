/** Checks a name for SQL, which never comes from a client. */
export function quoted(name: string): string {
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(name))
    throw new Error(`not a name for SQL: ${JSON.stringify(name)}`);
  return `"${name}"`;
}

/** The schema of one generation of a projection: `rm_reward_balances_1`. */
export function schemaOf(projection: string, generation: number): string {
  return `rm_${projection.replaceAll('-', '_')}_${generation}`;
}
