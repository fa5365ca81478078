import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.js';
import { openCore, type Core } from '../../src/stores/core.js';

/** The stores of this environment, as one more process opens them. */
export const openCoreOn = (
  env: Readonly<Record<string, string>>,
  over: Partial<Parameters<typeof openCore>[0]> = {},
): Promise<Core> =>
  openCore({
    config: loadConfig(env),
    logger: pino({ level: 'silent' }),
    actor: { kind: 'system', id: 'test' },
    applicationName: 'test',
    ...over,
  });
