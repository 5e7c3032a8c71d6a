import { tool } from '@langchain/core/tools'
import { interrupt } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { agent } from 'parley-a2a'
import { langgraph } from 'parley-a2a/langgraph'
import { z } from 'zod'
import { createModel } from './model.ts'

const pay = tool(
  ({ amount }) => {
    // The interrupt is a question to the caller. It can be answered days later, in another process.
    const answer = interrupt<unknown, string>(`Pay ${amount}?`)
    return answer === 'yes' ? `Paid ${amount}` : 'Not paid'
  },
  { name: 'pay', description: 'Pays an amount in euros.', schema: z.object({ amount: z.number() }) },
)

const graph = createReactAgent({ llm: createModel(), tools: [pay] })

export const cashier = agent({ name: 'Cashier', description: 'Pays bills, after asking' }, langgraph(graph))
