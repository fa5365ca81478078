import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { ApiError } from '../../edge/api-error.js';
import { ConsoleCall, ForRoles, redirected } from '../console-call.js';
import { progressText } from '../view/run-view.js';
import { TenantPages } from './tenant-pages.js';

/** A path of the console, as a header can carry it. */
const OWN_PATH = /^\/console\/[!-~]*$/;

/** Operations that take long, for the script of their pages. */
@ApiExcludeController()
@Controller('console/runs')
export class ConsoleRunsController {
  constructor(private readonly pages: TenantPages) {}

  @Get(':run')
  @ForRoles('finance', 'support')
  async progress(@ConsoleCall() call: ConsoleCall, @Param('run') id: string) {
    const run = await this.pages.run(call, id);
    if (run === undefined) throw new ApiError('NOT_FOUND', { message: 'There is no such run' });
    return { state: run.state, text: progressText(run), ...run.progress };
  }

  @Post(':run/cancel')
  @HttpCode(200)
  @ForRoles('finance', 'support')
  async cancel(@ConsoleCall() call: ConsoleCall, @Param('run') id: string): Promise<string> {
    await this.pages.cancel(call, id);
    const back = call.form.text('back');
    return redirected(call, OWN_PATH.test(back) ? back : '/console');
  }
}
