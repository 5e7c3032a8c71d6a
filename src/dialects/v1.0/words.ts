import type { Role, TaskState } from '../../protocol/model.ts'

/** How the enums of `lf.a2a.v1` are written, in the order of their numbers from 1 on. */

export const stateNames: Readonly<Record<TaskState, string>> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
}

export const roleNames: Readonly<Record<Role, string>> = { user: 'ROLE_USER', agent: 'ROLE_AGENT' }
