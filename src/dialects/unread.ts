import { type Schema, Violation } from '../schema/schema.ts'

/** A member that is read elsewhere: where it is, this is not the one to read the object. */
export function unread(): Schema<never> {
  return {
    read() {
      throw new Violation('expected nothing that this reader does not know')
    },
    form: { is: 'json' },
  }
}
