import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { accountProjectors } from '../../projections/account-projectors.js';

test.each(accountProjectors.map(({ name }) => name))(
  'the projector of %s has its scenarios in a file of its name',
  (name) => {
    const path = join(__dirname, `${name}.test.ts`);
    const projector = `${name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())}Projector`;
    expect(existsSync(path) && readFileSync(path, 'utf8')).toContain(
      `describeProjector(${projector}, `,
    );
  },
);
