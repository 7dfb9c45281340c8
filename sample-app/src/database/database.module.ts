import { Module } from '@nestjs/common';

import { ShopDatabase } from './shop-database.js';

@Module({ providers: [ShopDatabase], exports: [ShopDatabase] })
export class DatabaseModule {}
