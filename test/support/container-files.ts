import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const root = join(__dirname, '..', '..');
const folder = join(root, 'docker');

const texts = z.array(z.string()).default([]);
const condition = z.enum(['service_started', 'service_healthy', 'service_completed_successfully']);

/** The members of compose files that the project uses; others are refused. */
const service = z.strictObject({
  image: z.string(),
  build: z.strictObject({ context: z.string(), dockerfile: z.string() }).optional(),
  entrypoint: z.array(z.string()).optional(),
  command: z.array(z.string()).optional(),
  user: z.string().optional(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: texts,
  healthcheck: z
    .strictObject({
      test: z.array(z.string()),
      interval: z.string(),
      timeout: z.string(),
      retries: z.number(),
      start_period: z.string(),
    })
    .optional(),
  network_mode: z.string().optional(),
  init: z.boolean().default(false),
  read_only: z.boolean().default(false),
  tmpfs: texts,
  shm_size: z.string().optional(),
  mem_limit: z.string(),
  pids_limit: z.number(),
  cap_drop: texts,
  cap_add: texts,
  security_opt: texts,
  stop_grace_period: z.string().optional(),
  restart: z.string().optional(),
  secrets: texts,
  volumes: texts,
  depends_on: z.record(z.string(), z.strictObject({ condition })).default({}),
});
export type ComposeService = z.infer<typeof service>;

const composeFile = z.object({
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.null()),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })).default({}),
});
export type ComposeFile = z.infer<typeof composeFile>;

/** A compose file of docker/, with its anchors and merges resolved. */
export function readComposeFile(name: string): ComposeFile {
  return composeFile.parse(parse(readFileSync(join(folder, name), 'utf8'), { merge: true }));
}

export interface BuildStep {
  /** `COPY`, `RUN` … */
  readonly instruction: string;
  readonly text: string;
}

export interface BuildStage {
  readonly image: string;
  readonly name: string | undefined;
  readonly steps: readonly BuildStep[];
}

/** docker/Dockerfile by stages: without comments, continued lines as one. */
export function readDockerfile(): readonly BuildStage[] {
  const steps = readFileSync(join(folder, 'Dockerfile'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => /^([A-Z]+) (.*)$/.exec(line))
    .map((match) => ({ instruction: match?.[1] ?? '', text: match?.[2] ?? '' }));
  const stages: (BuildStage & { steps: BuildStep[] })[] = [];
  for (const step of steps) {
    if (step.instruction === 'FROM') {
      const [image = '', , name] = step.text.split(' ');
      stages.push({ image, name, steps: [] });
    } else {
      stages.at(-1)?.steps.push(step);
    }
  }
  return stages;
}

export function textsOf({ steps }: BuildStage, instruction: string): readonly string[] {
  return steps.filter((step) => step.instruction === instruction).map(({ text }) => text);
}

export function environmentOf(stage: BuildStage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    textsOf(stage, 'ENV')
      .flatMap((text) => text.split(' '))
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
}
