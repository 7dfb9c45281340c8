import { Controller, Param, Post } from '@nestjs/common';
import { currentLock, Locked } from 'nestjs-distributed-lock';

@Controller('carts')
export class CartsController {
  @Post(':id/orders')
  @Locked({ key: (id: string) => `cart:${id}` })
  async checkOut(@Param('id') id: string): Promise<{ sameLock: boolean }> {
    const { token } = currentLock();
    const total = await this.recalculate(id); // The same key: re-entry, no wait, no request to the store.
    return { sameLock: total.token === token };
  }

  @Post(':id/total')
  @Locked({ key: (id: string) => `cart:${id}` })
  async recalculate(@Param('id') id: string): Promise<{ cart: string; token: number }> {
    return { cart: id, token: currentLock().token };
  }
}
