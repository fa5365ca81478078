import { Controller, Get, HttpCode, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Scope } from '../../../domain/scope.js';
import { programsOf } from '../../../domain/tenant/program-document.js';
import { NotDone } from '../../../operations/outcome.js';
import { applyProgram, programIn } from '../../../operations/tenants/apply-program.js';
import { OperationsCore } from '../../operations/operations-core.js';
import { ConsoleCall, ForRoles, pageSent, redirected } from '../console-call.js';
import { tenantPath } from '../view/layout.js';
import { template, type WithForms } from '../view/templates.js';
import { changedLines, type ChangedLine } from '../view/changed-lines.js';
import {
  queried,
  queryOf,
  TENANT_ROUTE,
  TenantPages,
  type TenantParameters,
} from './tenant-pages.js';

const content = template<
  WithForms & {
    problems: readonly string[];
    programs: readonly { id: string; version: number; isDefault: boolean; path: string }[];
    id: string;
    version: number;
    text: string;
    hasCompared: boolean;
    changes: readonly ChangedLine[];
  }
>(`
{{#if problems.length}}<div class="problem" role="alert">{{#each problems}}<div>{{this}}</div>{{/each}}</div>{{/if}}
<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">Program</th><th scope="col" class="number">Version</th><th scope="col">Default</th></tr></thead>
<tbody>{{#each programs}}<tr><td><a href="{{path}}">{{id}}</a></td><td class="number">{{figure 'version' version ''}}</td><td>{{#if isDefault}}yes{{/if}}</td></tr>{{/each}}</tbody></table></div>
<h2>Program {{id}}</h2>
<p>Both modes of the tenant have the same programs. Rewards earned before keep their terms.</p>
<form class="fields" method="post">{{> csrf}}<input type="hidden" name="version" value="{{version}}">
<div class="field wide"><label for="document">Program file, as JSON</label><textarea id="document" name="document" rows="24" spellcheck="false" class="id">{{text}}</textarea></div>
<p class="actions"><button name="action" value="check" class="quiet">Show the changes</button><button name="action" value="apply">Apply</button></p>
</form>
{{#if hasCompared}}<h2>Changes to version {{version}}</h2>
{{#if changes.length}}<pre class="id">{{#each changes}}{{sign}} {{line}}
{{/each}}</pre>{{else}}<p class="empty">No change.</p>{{/if}}{{/if}}`);

/** For support: the programs of a tenant. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/program`)
export class ConsoleProgramController {
  constructor(
    private readonly pages: TenantPages,
    private readonly operations: OperationsCore,
  ) {}

  @Get()
  @ForRoles('support')
  async page(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
    @QueryParameters() query: unknown,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    return this.shown(call, scope, { id: queried(query, 'program').program, problems: [] });
  }

  @Post()
  @HttpCode(200)
  @ForRoles('support')
  async apply(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const { form } = call;
    const text = form.text('document');
    const program = programIn(text);
    if (program instanceof NotDone)
      return this.shown(call, scope, { id: '', text, problems: reasonsOf(program) });
    const { id } = program;
    if (form.text('action') !== 'apply')
      return this.shown(call, scope, { id, text, problems: [], compares: true });
    const expected = Number(form.text('version'));
    const outcome = await this.pages.recorded(call, [scope, 'program apply'], async (core) => {
      const result = await applyProgram(core, scope.tenant, { program, expected });
      if (result instanceof NotDone) return result;
      const parameters = { program: id, version: result.version };
      return { result, parameters, completed: `version ${result.version} is applied` };
    });
    if (outcome instanceof NotDone)
      return this.shown(call, scope, { id, text, problems: reasonsOf(outcome), compares: true });
    return redirected(call, `${tenantPath(scope)}/program${queryOf({ program: id })}`);
  }

  private async shown(
    call: ConsoleCall,
    scope: Scope,
    asked: {
      readonly id: string;
      readonly text?: string;
      readonly problems: readonly string[];
      readonly compares?: boolean;
    },
  ): Promise<string> {
    if (asked.problems.length > 0) void call.reply.code(400);
    const tenant = await this.operations.core.tenants.find(scope.tenant);
    const known = tenant === undefined ? [] : programsOf(tenant);
    const id = asked.id || (tenant?.defaultProgramId ?? '');
    const applied = known.find((program) => program.id === id);
    const document = tenant?.programs[id]?.document;
    const live = document === undefined ? '' : JSON.stringify(document, undefined, 2);
    const path = `${tenantPath(scope)}/program`;
    return pageSent(call, { title: 'Program', scope, section: '/program' }, content, {
      problems: asked.problems,
      programs: known.map((program) => ({
        id: program.id,
        version: program.version,
        isDefault: program.isDefault,
        path: `${path}${queryOf({ program: program.id })}`,
      })),
      id,
      version: applied?.version ?? 0,
      text: asked.text ?? live,
      hasCompared: asked.compares === true,
      changes: asked.compares ? changedLines(live, canonical(asked.text ?? '')) : [],
    });
  }
}

const reasonsOf = ({ because }: NotDone): readonly string[] =>
  because.code === 'PROGRAM_REFUSED' ? because.reasons : [because.code];

/** Written as the live version is. */
const canonical = (text: string): string => JSON.stringify(JSON.parse(text), undefined, 2);
