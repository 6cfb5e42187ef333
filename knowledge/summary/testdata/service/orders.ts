/** The order service. */
import express from 'express';
import { Store } from './store';
import axios from 'axios';
export const MAX_ITEMS = 10;
const router = express.Router();
export enum Status { Open = 'open', Closed = 'closed' }
export enum N {
  A = 1, // x
  B,
}
export interface Order extends Base { id: number; name?: string; f(a: number): void }
/** A service. */
export class Service extends Base implements Foo, Bar {
  private client = axios.create();
  constructor(private store: Store) { super() }
  async get(id: number): Promise<Order> {
    try {
      const localVariable = 'SECRET-BODY'; // secret comment
      const r = await fetch(`http://billing/${id}`, { method: 'POST' });
      return await axios.get('http://x/y');
    } catch (e) {
      if (e instanceof TimeoutError) { res.status(504).json({}); return }
      throw new HttpException('x', 502);
    }
  }
}
router.get('/orders/:id', async (req, res) => {
  if (!req.params.id) {
    return res.status(404).json({});
  }
  this.billingClient.charge(1);
});
app.use('/v1', router);
export function add(a, b: number) { return 1 }
@Controller('items')
class C {
  @Get(':id')
  one(id: string): Item { return 1 as any }
}
export type Id = string | number;
load().catch((e) => {
  if (e.code === 'ECONNREFUSED') { return reply.code(503).send(); }
});
