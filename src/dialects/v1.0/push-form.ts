import type { PushForm } from '../push-form.ts'
import { encodeEvent } from './encode.ts'

/** A2A 1.0 §4.3.3: a webhook gets what a stream would, one event in each request. */
export const pushForm: PushForm = {
  contentType: 'application/a2a+json',
  kinds: ['status', 'rest', 'artifact', 'message'],
  usually: ['status', 'artifact', 'message'],
  tellsTask: false,
  isOnlyUnnamed: false,
  encode(event) {
    const [wire = {}] = encodeEvent(event)
    return wire
  },
}
