import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { OPERATOR_ROLES, type Operator } from '../operators.js';
import { Access, CallingOperator } from './edge/access.js';

/** What finance and support staff do, for a console: the same figures as the command line's. */
@ApiTags('Operations')
@Controller('operations')
export class OperationsController {
  @ApiOperation({ summary: 'Whose key this is, and what it opens' })
  @ApiOkResponse({
    schema: {
      type: 'object',
      required: ['name', 'roles'],
      properties: { name: { type: 'string' }, roles: { type: 'array', items: { type: 'string', enum: [...OPERATOR_ROLES] } } },
    },
  })
  @Get()
  @Access('operator', { roles: OPERATOR_ROLES })
  self(@CallingOperator() { name, roles }: Operator) {
    return { name, roles };
  }
}
