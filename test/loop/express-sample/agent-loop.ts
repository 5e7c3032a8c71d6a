import { AgentLoop as Loop } from '../../../src/entries/loop-compat.ts'
import { scriptedModel, textReply } from '../../support/models/scripted-model.ts'

/** What the sample imports: a loop with a model of its own. A message that contains "fail" breaks the model. */
export class AgentLoop extends Loop {
  constructor() {
    super({ model: scriptedModel(textReply('Up by ', '15 %')) })
  }

  override invoke(...[parts, invocation]: Parameters<Loop['invoke']>): ReturnType<Loop['invoke']> {
    const isBroken = JSON.stringify(parts).includes('fail')
    return isBroken ? new Loop({ model: scriptedModel() }).invoke(parts, invocation) : super.invoke(parts, invocation)
  }
}
