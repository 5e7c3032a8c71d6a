import type { PushForm } from '../push-form.ts'
import { encodeEvent } from './encode.ts'

/** 0.1 leaves the form to the server, and names what should be in it: the task's id and its status. */
export const pushForm: PushForm = {
  contentType: 'application/json',
  kinds: ['status', 'rest'],
  usually: ['rest'],
  tellsTask: false,
  isOnlyUnnamed: true,
  encode(event, taskId) {
    const [wire] = encodeEvent(event, { taskId })
    return { eventType: 'taskUpdate', taskId, ...wire }
  },
}
