import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const folder = join(__dirname, '..', '..', 'docker', 'monitoring');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

// Strict: a member with a slip in its name would only be ignored by a reader.
const rule = z.strictObject({
  alert: z.string().regex(/^Ledger[A-Za-z]+$/),
  expr: z.string(),
  for: z.string().regex(/^\d+[smh]$/),
  labels: z.strictObject({ severity: z.string() }),
  annotations: z.strictObject({ summary: z.string().min(1), runbook: z.string() }),
});
const rules = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(rule) })),
});

export const readAlerts = (): readonly z.infer<typeof rule>[] =>
  rules.parse(parse(read('alerts.yaml'))).groups.flatMap((group) => group.rules);

const dashboard = z.object({
  uid: z.string(),
  panels: z.array(
    z.object({
      title: z.string(),
      type: z.enum(['row', 'timeseries']),
      targets: z.array(z.object({ expr: z.string() })).default([]),
    }),
  ),
});

export const readDashboard = (): z.infer<typeof dashboard>['panels'] =>
  dashboard.parse(JSON.parse(read('dashboard.json'))).panels.filter(({ type }) => type !== 'row');

const KEYWORDS = new Set(['and', 'or', 'unless', 'bool', 'offset']);

export function metricsIn(expr: string): readonly string[] {
  const plain = expr
    .replace(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
    .replace(/\{[^}]*\}|\[[^\]]*\]/g, ' ');
  return [...plain.matchAll(/\b([a-z_][a-z0-9_]*)\b(?!\s*\()/g)]
    .map(([, name = '']) => name)
    .filter((name) => name.includes('_') || !KEYWORDS.has(name));
}
