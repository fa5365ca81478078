import { SCENARIOS, type Scenario } from '../../simulator/plan.js';
import { simulate } from '../../simulator/run.js';

/** A few requests in every scenario, without a database. */
it.each(Object.keys(SCENARIOS) as Scenario[])(
  'every promise holds in a short round of the scenario %s',
  async (scenario) => {
    const { failing, accepted } = await simulate({ seed: 78, commands: 40, scenario });
    expect(failing?.result.violations).toBeUndefined();
    expect(accepted).toBeGreaterThan(4);
  },
  120_000,
);
